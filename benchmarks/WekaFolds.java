import java.io.File;
import java.util.Arrays;
import weka.classifiers.AbstractClassifier;
import weka.classifiers.Classifier;
import weka.core.Instances;
import weka.core.converters.ConverterUtils.DataSource;

/** Learns train-0.arff, train-1.arff … of a folder, and prints the class distributions of the rows of test-0.arff …. */
public class WekaFolds {
    public static void main(String[] arguments) throws Exception {
        for (int fold = 0; new File(arguments[0], "train-" + fold + ".arff").exists(); fold++) {
            Instances train = read(arguments[0], "train-" + fold), test = read(arguments[0], "test-" + fold);
            String[] options = Arrays.copyOfRange(arguments, 2, arguments.length);
            Classifier classifier = AbstractClassifier.forName(arguments[1], options);
            classifier.buildClassifier(train);
            for (int row = 0; row < test.numInstances(); row++) {
                double[] shares = classifier.distributionForInstance(test.instance(row));
                System.out.println(Arrays.toString(shares).replaceAll("[\\[\\] ]", ""));
            }
        }
    }

    private static Instances read(String folder, String name) throws Exception {
        Instances rows = DataSource.read(new File(folder, name + ".arff").getPath());
        rows.setClassIndex(rows.numAttributes() - 1);
        return rows;
    }
}
